"""What a model is: recipe, labels, folder, card, how its networks are opened. Nothing here imports torch."""
