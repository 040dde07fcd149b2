// Package hygiene has tests that check the code of this repository as reviewers do. They fail if the code grows too
// long, lacks documentation, has heavy dependencies or breaks a rule. The messages name the remedy. The package has
// tests only; start with gates_test.go.
package hygiene
