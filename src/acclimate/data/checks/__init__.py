"""What `acclimate data check` looks for, one small generator of findings per check."""
