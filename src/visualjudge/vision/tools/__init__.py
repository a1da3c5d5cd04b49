"""What a judge may call before it answers: tools that look at images and predictions."""
