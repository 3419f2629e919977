"""What people read: figures and the page. Draws and never measures. May import verification and below."""
