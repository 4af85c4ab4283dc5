"""What corpora, masks and scores look like, as figures and as pictures. Nothing is trained here."""
