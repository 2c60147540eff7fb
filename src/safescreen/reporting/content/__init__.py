"""What a report says: its subject, the sentences about it, held-out scores and the proof."""
