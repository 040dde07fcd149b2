package main

import (
	"os"
	"strings"
	"testing"
)

// TestPage: the program of the page is the one that is compiled here.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/service-providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"main.go", "service.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := "`" + file + "`:\n\n```go\n" + string(text) + "```\n"; !strings.Contains(string(page), want) {
			t.Errorf("docs/service-providers.md does not have %s as it is", file)
		}
	}
}
