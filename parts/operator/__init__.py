"""What an operator runs: the commands of `deeds`."""
