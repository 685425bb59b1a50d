"""Training with torch: network, data, training loop, export. Needs the extra `train`."""
