"""Tools that a judge may call before it answers, to inspect images and predictions."""
