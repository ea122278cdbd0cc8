"""Extensions: the example, failures, start-up, migrations, and the generated package."""
