"""First steps: the files of a new project, and what is missing for judging."""
