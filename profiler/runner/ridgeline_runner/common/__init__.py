"""What every part of the runner uses: the channel, failures, texts of editors, what is replaced of torch."""
