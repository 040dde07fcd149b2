// Package planted is for finding known defects with the simulator: it reads what is
// planted, and compiles all of it into one program, in which one defect at a time is
// chosen when it starts. Start with All, and then Overlay.
//
// A defect is a file: lines "key: value", and for each edit of a source file a line
// "-- file --", a text that stands in that file once and lies within a function, a line
// "-- becomes --" and the text in its place.
//
//	item: the entry of the list of what must be found
//	why: which real defect it is, and where it was reported
//	breaks: what its schedule is to be found to break, and then what others may find instead
//	schedule: the least that shows it
//	alone: the kinds of faults one of which is in every schedule that shows it, if no two are combined
//	only: the scenarios it is looked for in, if the schedule were not known
//	search: why that is not tried
//	client: in place of edits, a broken client that the tests of package sim have
//	test: in place of a schedule, the test of package sim that fails
package planted

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Defect is planted into the library, or is a client that is broken.
type Defect struct {
	Name     string
	Item     string
	Why      string
	Breaks   []string
	Schedule string
	Alone    []string
	Only     string
	Client   string
	Test     string
	Search   string
	Edits    []Edit

	file string
}

// An Edit is a text that stands in a file once, and another in its place.
type Edit struct{ File, Old, New string }

// All reads the defects of a folder.
func All(folder string) ([]Defect, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Defect
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := read(file, string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, errors.Errorf("there is no defect in %s", folder)
	}

	return all, nil
}

var mark = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

func read(file, data string) (Defect, error) {
	parts, marks := mark.Split(data, -1), mark.FindAllStringSubmatch(data, -1)
	d := Defect{Name: strings.TrimSuffix(filepath.Base(file), ".txt"), file: file}
	text := map[string]*string{"item": &d.Item, "why": &d.Why, "schedule": &d.Schedule, "only": &d.Only,
		"client": &d.Client, "test": &d.Test, "search": &d.Search}
	for line := range strings.Lines(parts[0]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch to, ok := text[key]; {
		case key == "breaks":
			d.Breaks = strings.Fields(value)
		case key == "alone":
			d.Alone = strings.Fields(value)
		case ok:
			*to = value
		}
	}
	for i := 0; i+1 < len(marks); i += 2 {
		d.Edits = append(d.Edits,
			Edit{marks[i][1], strings.TrimSuffix(parts[i+1], "\n"), strings.TrimSuffix(parts[i+2], "\n")})
	}
	if d.Why == "" || len(d.Breaks) == 0 || len(marks)%2 != 0 || (d.Client == "") == (len(d.Edits) == 0) {
		return Defect{},
			errors.Errorf("%s is no defect: it needs why, breaks, and either a client or pairs of a file and what becomes of it",
				file)
	}

	return d, nil
}

// Learn puts another schedule into the file of the defect.
func (d Defect) Learn(schedule string) error {
	data, err := os.ReadFile(d.file)
	if err != nil {
		return err
	}
	text := regexp.MustCompile(`(?m)^schedule: .*\n`).ReplaceAllString(string(data), "")
	breaks := regexp.MustCompile(`(?m)^breaks: .*\n`).FindString(text)

	return os.WriteFile(d.file, []byte(strings.Replace(text, breaks, breaks+"schedule: "+schedule+"\n", 1)), 0o600)
}
