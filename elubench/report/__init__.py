"""What people read: figures and reports."""
