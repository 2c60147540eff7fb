"""How numbers, texts and notebook cards look; every result uses this room, so it imports nothing of the package."""
