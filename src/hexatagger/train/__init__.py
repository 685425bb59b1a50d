"""Learning, with torch: the network, its data, the training loop. Needs the extra `train`."""
