"""What a judge may call before it answers: tools that look at a question's images and predictions."""
