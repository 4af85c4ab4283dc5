"""From a batch of sentences to features and tag scores."""
