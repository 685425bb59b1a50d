"""What a model is: recipe, labels, folder, card. Nothing here imports torch."""
