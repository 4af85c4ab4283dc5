"""Tables and figures of the papers, each a short YAML file: run again, with the paper's own numbers beside ours."""
