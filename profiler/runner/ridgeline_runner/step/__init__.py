"""The training step of an entry point: loaded, recorded, timed, listed."""
