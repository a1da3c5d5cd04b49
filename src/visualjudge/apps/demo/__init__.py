"""The main job on photographs out of installed packages: data folder, dataset, offline judges, report."""
