"""The two functions that the scripted model calls."""


def find_key(file: str) -> str:
    """Returns the line of a file that names the key."""
    with open(file) as lines:
        return lines.readline().strip()


def find_word(file: str, key: str) -> str:
    """Returns the line of a file that begins with the key."""
    with open(file) as lines:
        return next(line.strip() for line in lines if line.startswith(key))
