package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/reasons"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

func (c *console) driftCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drift [KIND[/NAME] | KIND NAME...]",
		Short: "List the objects whose external resource differs, and the fields",
		Long: `List the objects whose external resource differs from the spec (the condition UpToDate is
False), with the fields that differ, and since when. Without a kind, all kinds of managed resources
are looked at.

The fields are those of the last observation by the provider, in status.drift. Some kinds do not
list them. Values of secret fields are never shown. The exit code is 2 if an object differs, and 1
if something could not be read, or it is not known of an object whether it differs.`,
		Example: example(`
# All objects of the namespace that differ
kubectl moorage drift
# Streams of all namespaces, for a program
kubectl moorage drift streams -A -o json
# One object, with whole values
kubectl moorage drift stream/orders -o wide`),
		ValidArgsFunction: c.completeObjects,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.drift(cmd.Context(), args) },
	}
	c.addSelection(cmd)
	c.addOutput(cmd, formatJSON, formatWide)

	return cmd
}

// driftList is the JSON of drift. Fields are added, never renamed.
type driftList struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Items      []driftedItem `json:"items"`
	// Unknown are the objects of which is not known whether they differ.
	Unknown []object.Reference `json:"unknown"`
	// UnreadKinds says which kinds the API server could not list, or is empty.
	UnreadKinds string `json:"unreadKinds,omitempty"`

	looked int                // objects
	untold []object.Reference // those of Unknown whose provider does not say whether they differ
	unread []object.Reference // the others
	why    string             // the command that explains the first of these
}

// apiVersion is the version of the JSON output.
const apiVersion = "moorage.dev/v1"

type driftedItem struct {
	object.Reference

	ExternalName       string      `json:"externalName,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Since              metav1.Time `json:"since,omitzero"`
	Reason             string      `json:"reason"`
	Message            string      `json:"message,omitempty"`

	object.Drift
}

func (c *console) drift(ctx context.Context, args []string) error {
	targets, err := parse(args)
	if err != nil {
		return err
	}

	s, err := c.connect(ctx)
	if err != nil {
		return err
	}

	selections, err := c.selections(s, targets)
	if err != nil {
		return err
	}

	if len(selections) == 0 {
		none := errors.New("the API server has no kind of managed resources (category managed)")
		if s.kinds.Unread != "" {
			none = fmt.Errorf("%w; %s", none, s.kinds.Unread)
		}

		return none
	}

	list := driftList{APIVersion: apiVersion, Kind: "DriftList", Items: []driftedItem{}, Unknown: []object.Reference{}}

	failed := s.each(ctx, selections, list.judge)
	if ctx.Err() != nil {
		return errInterrupted
	}

	if len(targets) == 0 {
		list.UnreadKinds = s.kinds.Unread
	}

	if err := c.showDrift(list); err != nil {
		return err
	}

	if failed = append(list.unjudged(), failed...); len(failed) > 0 {
		return c.joined(failed)
	}

	if len(list.Items) > 0 {
		return no{}
	}

	if !c.json() {
		c.note("No object differs %s; %s.", c.where(s), count(list.looked)+" looked at")
	}

	return nil
}

// unjudged returns an error for each part of the answer that is not known.
func (l driftList) unjudged() (failed []error) {
	if l.UnreadKinds != "" {
		failed = append(failed, errors.New(l.UnreadKinds))
	}

	if len(l.unread) > 0 {
		failed = append(failed, fmt.Errorf("cannot judge %s (%s): it is not known whether %s; see %s",
			count(len(l.unread)), names(l.unread), differ(l.unread), l.why))
	}

	if len(l.untold) > 0 {
		failed = append(failed, fmt.Errorf("cannot judge %s (%s): the provider does not say whether %s (%s)",
			count(len(l.untold)), names(l.untold), differ(l.untold), untoldDifference))
	}

	return failed
}

// differ returns the end of a sentence about objects.
func differ(objects []object.Reference) string {
	if len(objects) == 1 {
		return "it differs"
	}

	return "they differ"
}

// judge adds an object to the list if it differs, or if that is not known.
func (l *driftList) judge(it item) {
	condition, has := it.object.Condition(reasons.TypeUpToDate)
	synced, _ := it.object.Condition(reasons.TypeSynced)
	well := synced.True() && it.object.Present(synced)
	l.looked++

	switch {
	case condition.False():
		l.Items = append(l.Items, driftedItem{
			Reference: it.object.Reference(), ExternalName: it.object.ExternalName(),
			ObservedGeneration: condition.ObservedGeneration, Since: condition.LastTransitionTime,
			Reason: condition.Reason, Message: condition.Message, Drift: it.object.Drift(),
		})

		return
	case condition.True() && it.object.Present(condition), !has && well && it.kind.Complete:
		return
	case !has && well:
		l.untold = append(l.untold, it.object.Reference())
	default:
		l.why = cmp.Or(l.why, it.command("why"))
		l.unread = append(l.unread, it.object.Reference())
	}

	l.Unknown = append(l.Unknown, it.object.Reference())
}

// count returns a number of objects with its noun.
func count(n int) string {
	if n == 1 {
		return "1 object"
	}

	return fmt.Sprintf("%d objects", n)
}

// names returns the names of the first objects.
func names(objects []object.Reference) string {
	const most = 5

	var out []string
	for _, o := range objects[:min(most, len(objects))] {
		out = append(out, strings.ToLower(o.Kind)+"/"+o.Name)
	}

	if len(objects) > most {
		out = append(out, fmt.Sprintf("and %d more", len(objects)-most))
	}

	return strings.Join(out, ", ")
}

func (c *console) showDrift(list driftList) error {
	if c.json() {
		return c.writeJSON(list)
	}

	if len(list.Items) == 0 {
		return nil
	}

	header := []string{"OBJECT", "SINCE", "REASON", "FIELD", "DESIRED", "OBSERVED"}
	if c.flags.everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}

	if c.wide() {
		header = append(header, "EXTERNAL NAME", "MESSAGE")
	}

	table := text.NewTable(c.out, header...)

	for _, it := range list.Items {
		for i, f := range c.fields(it.Drift) {
			row := []string{"", "", ""}
			if i == 0 {
				row = []string{strings.ToLower(it.Kind) + "/" + it.Name, text.Age(c.now(), it.Since.Time), it.why()}
			}

			if c.flags.everywhere {
				row = append([]string{it.Namespace}, row...)
				if i > 0 {
					row[0] = ""
				}
			}

			row = append(row, f[:]...)
			if c.wide() && i == 0 {
				row = append(row, it.ExternalName, it.Message)
			}

			table.Row(row...)
		}
	}

	return table.Flush()
}

// why returns the reason, and whether it is about an earlier spec.
func (it driftedItem) why() string {
	if it.ObservedGeneration != 0 && it.ObservedGeneration < it.Generation {
		return it.Reason + " (earlier spec)"
	}

	return it.Reason
}

// fields returns rows with a path and both values. There is at least one row.
func (c *console) fields(d object.Drift) (out [][3]string) {
	for _, f := range d.Fields {
		out = append(out, [3]string{fieldPath(f), c.value(f, f.Desired), c.value(f, f.Observed)})
	}

	switch {
	case len(out) == 0:
		out = append(out, [3]string{"(not listed)", "", ""})
	case d.More > 0:
		out = append(out, [3]string{fmt.Sprintf("... and %d more", d.More), "", ""})
	}

	return out
}

// fieldPath returns the path of a field, and whether an update cannot change it.
func fieldPath(f object.Difference) string {
	if f.Immutable {
		return f.Path + " (immutable)"
	}

	return f.Path
}

// value returns a value for a table.
func (c *console) value(f object.Difference, v string) string {
	const most = 40

	switch {
	case f.Sensitive:
		return "(sensitive)"
	case v == "":
		return "(none)"
	case c.wide():
		return v
	}

	return text.Short(v, most)
}
