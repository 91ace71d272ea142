import tempfile
import unittest

import summing


class Sum(unittest.TestCase):
    def test_two_numbers_are_added(self):
        self.assertEqual(summing.add(1, 2), 3)

    def test_temporary_files(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
