pub fn sum(a: u32, b: u32) -> u32 {
    a + b
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_numbers_are_added() {
        assert_eq!(super::sum(1, 2), 3);
    }

    #[test]
    #[ignore = "it fails, for commands that shall fail"]
    fn it_fails() {
        assert_eq!(super::sum(1, 2), 4);
    }
}
