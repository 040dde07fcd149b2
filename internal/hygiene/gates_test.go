package hygiene

import "testing"

// What is counted here was not looked at from the beginning, so each gate begins with what there was: see
// ratchet_test.go.

// TestStructsAreSmall: a large struct is several concepts that have no names yet. The facts of a decision are its
// parameters, and may be many.
func TestStructsAreSmall(t *testing.T) { hold(t, "structs") }

// TestCommentsBeginWithTheName, so that a search for a function finds its comment.
func TestCommentsBeginWithTheName(t *testing.T) { hold(t, "comments") }

// TestIdentifiersAreUsualTerms, which a maintainer of a controller understands at first sight.
// internal/hygiene/measure/words.go has the list of words to avoid.
func TestIdentifiersAreUsualTerms(t *testing.T) { hold(t, "identifiers") }

// TestProseIsPlain: a sentence has a subject that is a thing. The list stands beside that of the identifiers.
func TestProseIsPlain(t *testing.T) { hold(t, "prose") }

// TestExceptionsAreForLintersThatRun: nolintlint does not ask about the others.
func TestExceptionsAreForLintersThatRun(t *testing.T) { hold(t, "nolint") }

// TestPackageVariablesDoNotChange is what gochecknoglobals is for, which also objects to tables that are only read.
func TestPackageVariablesDoNotChange(t *testing.T) { hold(t, "globals") }

// TestTestsAreNamedAfterWhatTheyTest, so that a reader of a file finds its tests.
func TestTestsAreNamedAfterWhatTheyTest(t *testing.T) { hold(t, "stems") }

// TestLinesOfGoFit into a window beside another one.
func TestLinesOfGoFit(t *testing.T) { hold(t, "lines") }

// TestParagraphsAreShort in pages. A cell of a table is one.
func TestParagraphsAreShort(t *testing.T) { hold(t, "paragraphs") }
