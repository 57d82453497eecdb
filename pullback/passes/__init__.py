"""What passes do beyond the core: their two ends, hooks, and forward mode while a program runs."""
