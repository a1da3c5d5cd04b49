"""First steps: create a project's files, and check what is missing for judging."""
