"""The first hour: what a new project is made of, and what is missing to judge."""
