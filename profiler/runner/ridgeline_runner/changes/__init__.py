"""Changed training steps: how they are built, listed and tried."""
