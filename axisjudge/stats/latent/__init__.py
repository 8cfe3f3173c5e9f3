"""What is behind a panel's verdicts: a hierarchical model of failing items and of judges that see them."""
