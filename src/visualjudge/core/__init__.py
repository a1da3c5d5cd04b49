"""What everything rests on: records, errors, tables of rows, files, seeds."""
