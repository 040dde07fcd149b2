package main

import (
	"slices"
	"testing"

	"github.com/moorage-dev/moorage/bench/internal/load"
)

func TestOptions(t *testing.T) {
	c, err := options(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.scenario != load.Full || !c.whole() {
		t.Errorf("usually %+v is asked for", c)
	}
	c, err = options([]string{"-objects", "700", "-rounds", "5", "-one-server", "-order", "bulk,floor", "-parts", "sprint"})
	if err != nil {
		t.Fatal(err)
	}
	want := load.Full
	want.Objects, want.Rounds, want.OneServer = 700, 5, true
	if c.scenario != want || !slices.Equal(c.order, []string{"bulk", "floor"}) || !slices.Equal(c.parts, []string{"sprint"}) || c.whole() {
		t.Errorf("%+v is asked for", c)
	}
	for reason, args := range map[string][]string{
		"nobody to compare with":   {"-order", "moorage,bulk"},
		"nobody of that name":      {"-order", "floor,peer"},
		"nobody is measured twice": {"-order", "floor,bulk,floor"},
		"no part of that name":     {"-parts", "life,death"},
	} {
		if c, err := options(args); err == nil {
			t.Errorf("%s: %+v", reason, c)
		}
	}
}
