package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/bench/internal/load"
	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// A choice is the parsed command line.
type choice struct {
	scenario     load.Scenario
	order, parts []string
	file, page   string
	small        bool
}

// whole reports whether everything is measured as intended: only such a run is stored. More rounds are allowed.
func (c choice) whole() bool {
	full := load.Full
	full.Rounds = max(full.Rounds, c.scenario.Rounds)

	return c.scenario == full && len(c.order) == len(provider.Contenders) && len(c.parts) == len(load.Parts)
}

// options parses the command line.
func options(args []string) (choice, error) {
	var (
		c         choice
		flags     = flag.NewFlagSet("bench", flag.ExitOnError)
		objects   = flags.Int("objects", 0, "how many objects there are (default 5000)")
		rounds    = flags.Int("rounds", 0, "how often what is compared with the floor is measured (default 3)")
		oneServer = flags.Bool("one-server", false, "all contenders use one server, however old it is")
		order     = flags.String("order", strings.Join(provider.Contenders, ","),
			"who is measured, and in which order in the first round")
		parts = flags.String("parts", strings.Join(load.Parts, ","), "what to measure")
	)
	flags.BoolVar(&c.small, "small", false, "be over soon: the figures then only say that everything works")
	flags.StringVar(&c.file, "json", "", "also write the figures to this file")
	flags.StringVar(&c.page, "page", "", "also put the table into this page")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	c.scenario = load.Full
	if c.small {
		c.scenario = load.Small
	}
	if *objects > 0 {
		c.scenario.Objects = *objects
	}
	if *rounds > 0 {
		c.scenario.Rounds = *rounds
	}
	c.scenario.OneServer = c.scenario.OneServer || *oneServer
	var err error
	if c.order, err = among(provider.Contenders, *order); err != nil {
		return c, err
	}
	if !slices.Contains(c.order, provider.Floor) {
		return c, fmt.Errorf("without %s there is nothing to compare with", provider.Floor)
	}
	c.parts, err = among(load.Parts, *parts)

	return c, err
}

// among splits a list of distinct names and checks that all are known.
func among(known []string, list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(known, name) || slices.Contains(names, name) {
			return nil, fmt.Errorf("cannot read %q: it is to be a list of some of %s", list, strings.Join(known, ", "))
		}
		names = append(names, name)
	}

	return names, nil
}
