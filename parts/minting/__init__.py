"""Who may mint: the tokens of contract 4.1."""
