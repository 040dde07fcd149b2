package apisurface

import (
	"go/types"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompare compares right and wrong lines with packages of the standard library.
func TestCompare(t *testing.T) {
	lib, err := load(".", "io", "io/fs", "os", "sync/atomic", "encoding/json")
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		path   string
		golden string
		want   []string
	}{
		"Same": {
			reason: "Names of parameters do not count.",
			path:   "io",
			golden: "func Copy(a Writer, b Reader) (int64, error)\nconst SeekEnd = 2\nvar EOF error",
		},
		"Alias": {
			reason: "An alias and its target are the same, in both directions.",
			path:   "os",
			golden: "type FileMode = fs.FileMode\nfunc (*File) Chmod(mode fs.FileMode) error\nfunc (FileMode) IsDir() bool",
		},
		"Missing": {
			reason: "A missing function, method, constant or type is reported.",
			path:   "io",
			golden: "func Coppy(dst Writer) error\nfunc (*PipeReader) Open()\nfunc (*Nobody) Open()\nconst SeekAll = 1\ntype " +
				"Disk struct { Size int }",
			want: []string{
				"- func Coppy(dst Writer) error", "- method (*PipeReader) Open()", "- method (*Nobody) Open()",
				"- const SeekAll untyped int = 1",
				"- type Disk struct", "- type Disk struct, field Size int",
			},
		},
		"Other": {
			reason: "A difference is reported as it should be and as it is.",
			path:   "io",
			golden: "func Copy(dst Writer, src Reader) error\nconst SeekEnd = 3\nvar EOF int",
			want: []string{
				"- func Copy(dst Writer, src Reader) error",
				"+ func Copy(dst Writer, src Reader) (written int64, err error)",
				"- const SeekEnd untyped int = 3", "+ const SeekEnd untyped int = 2",
				"- var EOF int", "+ var EOF error",
			},
		},
		"Kind": {
			reason: "A variable is no function.",
			path:   "io",
			golden: "func EOF() error",
			want:   []string{"- func EOF() error", "+ var EOF error"},
		},
		"Receiver": {
			reason: "A method of the pointer is none of the value.",
			path:   "os",
			golden: "func (File) Close() error",
			want:   []string{"- method (File) Close() error"},
		},
		"Interface": {
			reason: "A missing method breaks callers, an additional one breaks implementations.",
			path:   "io",
			golden: "type Writer interface { Write(p []byte) (int, error); Flush() }\ntype ReadWriter interface { Reader }",
			want: []string{
				"- type Writer interface, method Flush()",
				"+ type ReadWriter interface, method Write(p []byte) (n int, err error)",
			},
		},
		"Struct": {
			reason: "Fields that are exported count, with their tags, and whether they are embedded.",
			path:   "io",
			golden: "type LimitedReader struct { Reader; N int64 `json:\"n\"` }\ntype PipeReader struct {}",
			want: []string{
				"- type LimitedReader struct, embedded Reader Reader",
				"- type LimitedReader struct, field N int64 `json:\"n\"`",
				"+ type LimitedReader struct, field R Reader", "+ type LimitedReader struct, field N int64",
			},
		},
		"Generic": {
			reason: "An instance of a generic type has its methods.",
			path:   "encoding/json",
			golden: "type Number string\nfunc (Number) Int64() (int64, error)\ntype Marshaler interface { MarshalJSON() " +
				"([]byte, error) }",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := parse("import fs \"io/fs\"\npackage " + tc.path + "\n" + tc.golden)
			if err != nil {
				t.Fatal(err)
			}
			got, err := lib.compare(s, tc.path, s.packages[0].entries)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBrokenGoldenFiles(t *testing.T) {
	for name, text := range map[string]string{
		"NoDeclaration": "package io\nCopy(dst Writer)",
		"NoPackage":     "func Copy(dst Writer)",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: a broken file was read without an error", name)
		}
	}

	lib, err := load(".", "io")
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{"UnknownType": "func Copy(dst Disk)", "NoGo": "func Copy(dst"} {
		s, err := parse("package io\n" + line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lib.compare(s, "io", s.packages[0].entries); err == nil {
			t.Errorf("%s: a line that means nothing was compared without an error", name)
		}
	}
	if _, err := load(".", "github.com/moorage-dev/moorage/nowhere"); err == nil {
		t.Error("A package that does not exist was loaded")
	}
}

// TestTwinsAreTheSame compares packages with the same API name by name: types, types of functions and values are
// identical.
func TestTwinsAreTheSame(t *testing.T) {
	for _, group := range alike {
		paths := imported(group)
		lib, err := everything()
		if err != nil {
			t.Fatal(err)
		}
		original, err := lib.Import(paths[len(paths)-1])
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths[:len(paths)-1] {
			twin, err := lib.Import(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range original.Scope().Names() {
				a, b := original.Scope().Lookup(name), twin.Scope().Lookup(name)
				if a.Exported() && b != nil && !sameObject(a, b) { // a missing name is found by the test of the twin
					t.Errorf("%s is not the same in %s and in %s:\n%v\n%v", name, original.Path(), path, a, b)
				}
			}
		}
	}
}

// sameObject reports whether two objects are the same. Generic types are compared as instances with their own type
// parameters.
func sameObject(a, b types.Object) bool {
	switch a := a.(type) {
	case *types.Const:
		other, ok := b.(*types.Const)
		return ok && a.Val().ExactString() == other.Val().ExactString() && types.Identical(a.Type(), other.Type())
	case *types.TypeName:
		other, ok := b.(*types.TypeName)
		return ok && sameType(a.Type(), other.Type())
	default:
		return types.Identical(a.Type(), b.Type())
	}
}

// sameType reports whether two types are identical. It instantiates a generic alias first.
func sameType(a, b types.Type) bool {
	named, generic := types.Unalias(a).(*types.Named)
	alias, isAlias := b.(*types.Alias)
	if !generic || !isAlias || named.TypeParams().Len() == 0 || named.TypeArgs().Len() > 0 {
		return types.Identical(a, b)
	}
	if alias.TypeParams().Len() != named.TypeParams().Len() {
		return false
	}
	args := make([]types.Type, 0, named.TypeParams().Len())
	for p := range named.TypeParams().TypeParams() {
		args = append(args, p)
	}
	x, errX := types.Instantiate(nil, named, args, false)
	y, errY := types.Instantiate(nil, alias, args, false)
	return errX == nil && errY == nil && types.Identical(x, y)
}
