package main

import (
	"slices"
	"strings"
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
	c, err = options([]string{"-objects", "700", "-rounds", "5", "-one-server", "-order", "bulk,floor", "-parts", "storm"})
	if err != nil {
		t.Fatal(err)
	}
	want := load.Full
	want.Objects, want.Rounds, want.OneServer = 700, 5, true
	if c.scenario != want || !slices.Equal(c.order, []string{"bulk", "floor"}) ||
		!slices.Equal(c.parts, []string{"storm"}) || c.whole() {
		t.Errorf("%+v is asked for", c)
	}
	for reason, tc := range map[string]struct {
		args  []string
		whole bool
	}{
		"more rounds do no harm":       {args: []string{"-rounds", "5"}, whole: true},
		"nor does another order":       {args: []string{"-order", "bulk,floor,moorage"}, whole: true},
		"too few objects":              {args: []string{"-objects", "1000"}},
		"more objects are another run": {args: []string{"-objects", "10000"}},
		"a single round":               {args: []string{"-rounds", "1"}},
		"one server grows older":       {args: []string{"-one-server"}},
		"a small run":                  {args: []string{"-small"}},
		"one that was made larger":     {args: []string{"-small", "-objects", "5000", "-rounds", "3"}},
		"parts are missing":            {args: []string{"-parts", "life,named,storm"}},
		"a contender is missing":       {args: []string{"-order", "floor,moorage"}},
	} {
		if c, err := options(tc.args); err != nil || c.whole() != tc.whole {
			t.Errorf("%s: whole is %t, error %v", reason, c.whole(), err)
		}
	}
	for reason, args := range map[string][]string{
		"no floor to compare with": {"-order", "moorage,bulk"},
		"unknown contender":        {"-order", "floor,peer"},
		"duplicate contender":      {"-order", "floor,bulk,floor"},
		"no part of that name":     {"-parts", "life,death"},
	} {
		if c, err := options(args); err == nil {
			t.Errorf("%s: %+v", reason, c)
		}
	}
}

// TestVerdict checks that a full run fails with a missing figure or a wrong floor, that a run of parts may lack
// figures, and that a small run judges no times.
func TestVerdict(t *testing.T) {
	asked := func(args ...string) choice {
		c, err := options(args)
		if err != nil {
			t.Fatal(err)
		}

		return c
	}
	for _, tc := range []struct {
		reason           string
		asked            choice
		over, unmeasured int
		want             string
	}{
		{reason: "over its bound", asked: asked("-parts", "life"), over: 2, want: "2 of what must hold"},
		{reason: "parts have parts of the figures", asked: asked("-parts", "life"), unmeasured: 2},
		{reason: "a small run works", asked: asked("-small"), over: 2, unmeasured: 1},
		{reason: "a full run has all", asked: asked(), unmeasured: 1, want: "1 of what is to be measured"},
		{reason: "and a floor", asked: asked(), want: "the floor is none: CPU per"},
	} {
		err := verdict(tc.asked, load.Result{}, tc.over, tc.unmeasured)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
}
