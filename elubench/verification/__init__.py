"""What a paper, a claim, a measurement and a verdict are. May import rates and below."""
