"""Two corpora looked over before anything is trained: how far apart they are, and what that suggests."""
