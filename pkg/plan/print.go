package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// oneLine returns a text without line breaks, control characters and invalid UTF-8, which a terminal would interpret.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r != unicode.ReplacementChar && !unicode.IsGraphic(r), unicode.Is(unicode.Bidi_Control, r):
			return '?'
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "?"))

	return strings.Join(strings.Fields(text), " ")
}

// printTable prints a table for a person.
func (r *report) printTable(out io.Writer, f flags) error {
	var b strings.Builder
	if shown := r.shown(f.all); len(shown) > 0 {
		var cells bytes.Buffer
		table := tabwriter.NewWriter(&cells, 0, 0, 2, ' ', 0)
		rows := [][]string{{"KIND", "NAMESPACE", "NAME", "WOULD", "BECAUSE", "FIELDS"}}
		for _, p := range shown {
			rows = append(rows, r.row(p))
		}
		for _, row := range rows {
			_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // into memory
		}
		_ = table.Flush()
		for line := range strings.Lines(cells.String()) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String()+r.text())

	return err
}

// row returns the cells of a plan.
func (r *report) row(p managed.Plan) []string {
	would, because := p.Action, strings.TrimSuffix(p.Because, ".")
	switch {
	case r.follows[identity(p)]:
		of := p.Referents[0]
		would, because = follow, oneLine(of.Kind.Kind+" "+of.Object.String()+", which the files create first: "+p.Err.Error())
	case p.Err != nil:
		would, because = "?", oneLine(p.Err.Error())
	}

	return []string{p.Kind.Kind, none(p.Object.Namespace), none(p.Object.Name), would, because, fields(p)}
}

// none returns a dash for an empty cell, so that the columns can be counted.
func none(cell string) string {
	if cell == "" {
		return "-"
	}

	return cell
}

// text returns the sentences below the table.
func (r *report) text() string {
	s := r.summary()
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s in %s, with %s to list and %d to look.\n", counted(s.Objects, "object"),
		counted(r.kinds, "kind"), duration(r.took), counted(int(r.calls.List), "call"), r.calls.Observe)
	parts := []string{}
	for _, part := range []struct {
		n    int
		text string
	}{
		{s.AtRest, "as it is"}, {s.Create, "would be created"}, {s.Update, "would be updated"},
		{s.Delete, "would be deleted"},
		{s.Immutable, verb(s.Immutable, "differ") + " only in fields that cannot be changed"},
		{s.WaitForUser, "to be looked after by a user"},
		{s.Follow, verb(s.Follow, "follow") + " other objects of the files"},
		{s.Other, "without a change of the external system"}, {s.Unknown, "could not be planned"},
	} {
		if part.n > 0 {
			parts = append(parts, strconv.Itoa(part.n)+" "+part.text)
		}
	}
	if len(parts) > 0 {
		b.WriteString(strings.Join(parts, ", ") + ".\n")
	}
	if r.unvalidated > 0 {
		fmt.Fprintf(&b, "The API server has not validated %s: that needs the verbs patch and create for the objects.\n",
			counted(r.unvalidated, "manifest"))
	}
	if r.unvalidated > 0 && r.how.ServerSide {
		b.WriteString("So a field that a file no longer has counts as not removed.\n")
	}
	b.WriteString("Nothing was changed.\n")

	return b.String()
}

// verb returns the form of a verb for n objects.
func verb(n int, plural string) string {
	if n == 1 {
		return plural + "s"
	}

	return plural
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}

	return strconv.Itoa(n) + " " + what
}

func duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}

	return d.Round(time.Second / 10).String()
}

// A document is the form of the plans in JSON. Fields are added, and never renamed.
type document struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Provider   string         `json:"provider"`
	Version    string         `json:"version,omitempty"`
	Cluster    string         `json:"cluster,omitempty"` // the UID of the namespace kube-system
	Objects    []objectOfPlan `json:"objects"`
	Summary    summary        `json:"summary"`

	Calls managed.PlanCalls `json:"calls"` // to the external system
}

// An objectOfPlan is the form of a plan in JSON.
type objectOfPlan struct {
	APIVersion      string                 `json:"apiVersion"`
	Kind            string                 `json:"kind"`
	Namespace       string                 `json:"namespace,omitempty"`
	Name            string                 `json:"name,omitempty"`
	UID             string                 `json:"uid,omitempty"`
	Generation      int64                  `json:"generation,omitempty"`
	ExternalName    string                 `json:"externalName,omitempty"`
	Action          string                 `json:"action,omitempty"`
	Because         string                 `json:"because,omitempty"`
	Facts           []string               `json:"facts,omitempty"`
	Writes          []managed.PlannedWrite `json:"writes,omitempty"`
	Differences     []commonv1.Difference  `json:"differences,omitempty"`
	MoreDifferences int                    `json:"moreDifferences,omitempty"`
	Error           string                 `json:"error,omitempty"`
}

// printJSON prints JSON for a program.
func (r *report) printJSON(out io.Writer, f flags) error {
	d := document{
		APIVersion: "moorage.dev/v1", Kind: "Plan", Provider: r.provider.Name, Version: r.provider.Version,
		Cluster: r.cluster, Objects: []objectOfPlan{}, Summary: r.summary(),
		Calls: r.calls,
	}
	for _, p := range r.shown(f.all) {
		o := objectOfPlan{
			APIVersion: p.Kind.GroupVersion().String(), Kind: p.Kind.Kind, Namespace: p.Object.Namespace,
			Name: p.Object.Name, UID: string(p.UID), Generation: p.Generation, ExternalName: oneLine(p.ExternalName),
			Action: p.Action, Because: p.Because, Facts: p.Facts, Writes: p.Writes, Differences: p.Differences,
			MoreDifferences: p.MoreDifferences,
		}
		if p.Err != nil {
			o.Error = oneLine(p.Err.Error())
		}
		if r.follows[identity(p)] {
			o.Action = follow
		}
		d.Objects = append(d.Objects, o)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)

	return encoder.Encode(d)
}
