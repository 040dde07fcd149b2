package hygiene

import "testing"

// The gates came later than much of the code. Each begins with the number of existing findings, which only goes
// down: see ratchet_test.go.

// TestStructsAreSmall checks that no struct is large, because a large struct is several concepts without names. The
// facts of a decision are its parameters, and may be many.
func TestStructsAreSmall(t *testing.T) { hold(t, "structs") }

// TestCommentsBeginWithTheName makes a search for a function find its comment.
func TestCommentsBeginWithTheName(t *testing.T) { hold(t, "comments") }

// TestIdentifiersAreUsualTerms checks that a maintainer of a controller understands names at
// first sight. internal/hygiene/measure/words.go has the list of words to avoid.
func TestIdentifiersAreUsualTerms(t *testing.T) { hold(t, "identifiers") }

// TestProseIsPlain checks that comments and pages have no words to avoid. internal/hygiene/measure/words.go has the
// list.
func TestProseIsPlain(t *testing.T) { hold(t, "prose") }

func TestStringsArePlain(t *testing.T) { hold(t, "strings") }

// TestExceptionsAreForLintersThatRun checks exceptions for linters that do not run: nolintlint ignores these.
func TestExceptionsAreForLintersThatRun(t *testing.T) { hold(t, "nolint") }

// TestPackageVariablesDoNotChange replaces gochecknoglobals, which also objects to tables that are only read.
func TestPackageVariablesDoNotChange(t *testing.T) { hold(t, "globals") }

// TestTestsAreNamedAfterWhatTheyTest makes the name of a file lead to its tests.
func TestTestsAreNamedAfterWhatTheyTest(t *testing.T) { hold(t, "stems") }

// TestLinesOfGoFit keeps lines short enough for two windows beside each other.
func TestLinesOfGoFit(t *testing.T) { hold(t, "lines") }

// TestParagraphsAreShort keeps the paragraphs of pages short. A cell of a table is one.
func TestParagraphsAreShort(t *testing.T) { hold(t, "paragraphs") }
