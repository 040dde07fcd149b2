package migrate

// Rewrite migrates one Go file, for tests.
func Rewrite(origin Origin, text string) (after string, decisions []Decision, err error) {
	m := &migration{module: "example.org/provider", rules: tables()[origin]}

	after, notes, err := m.source("file.go", text)
	for _, n := range notes {
		decisions = append(decisions, Decision{"file.go", n.line, n.what})
	}

	return after, decisions, err
}

// Compare compares versions.
var Compare = compare
