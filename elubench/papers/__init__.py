"""Papers whose claims can be verified, a folder each. May import report and what is below."""
