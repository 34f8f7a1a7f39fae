"""Who may mint: the tokens of contract part 5."""
