package gappy

import "testing"

func TestGrade(t *testing.T) {
	if got := Grade(95); got != "good" {
		t.Errorf("Grade(95) = %s", got)
	}
}

func TestApply(t *testing.T) {
	if got := Apply(3); got != 3 {
		t.Errorf("Apply(3) = %d", got)
	}
}
