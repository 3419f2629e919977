"""What people read: figures and the page, which never measure. May import verification and below."""
