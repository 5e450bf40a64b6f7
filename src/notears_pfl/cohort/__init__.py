"""Who is in the study, why not, in which half, and with what samples."""
