"""What stands on the main way from predictions to a report; each folder could leave."""
