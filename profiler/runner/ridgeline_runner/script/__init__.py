"""The training steps of a script that runs as it is: where they end, what is done with each."""
