package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ofPostgres is the module whose tests need the programs of a PostgreSQL server.
const ofPostgres = "examples/provider-postgres"

// postgresFolder is the variable with the folder of the programs of PostgreSQL. The tests read it first. Go repeats a
// result from its cache only for the same value: with a server that was installed meanwhile, the tests run again.
const postgresFolder = "PG_BINDIR"

// errNoPostgres is the error of a machine without PostgreSQL.
var errNoPostgres = errors.New("there is no PostgreSQL server; on Debian and Ubuntu: apt-get install -y postgresql")

// postgres returns the folder with the programs of PostgreSQL: that of the variable PG_BINDIR, of pg_config, of
// postgres in the PATH, or of a package of Debian, where debian is the pattern of folders. A folder without initdb does
// not count: pg_config alone is a part of the client's library.
func postgres(debian string) (string, error) {
	candidates := []string{os.Getenv(postgresFolder)}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	packaged, err := filepath.Glob(debian)
	if err != nil {
		return "", err
	}
	for _, folder := range append(candidates, packaged...) {
		if folder == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err == nil {
			return folder, nil
		}
	}
	return "", errNoPostgres
}

// debianPostgres is the pattern of the folders of Debian's packages.
const debianPostgres = "/usr/lib/postgresql/*/bin"

// printPostgres prints what postgres returns.
func printPostgres(w io.Writer) error {
	folder, err := postgres(debianPostgres)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, folder)
	return err
}

// needPostgres returns the variables with which the tests of the modules find PostgreSQL. Without PostgreSQL it returns
// a text that says which tests are not run, and with the variable CI an error.
func needPostgres(modules []string, debian string) (env []string, notRun string, err error) {
	if !slices.Contains(modules, ofPostgres) {
		return nil, "", nil
	}
	folder, err := postgres(debian)
	switch {
	case err == nil:
		return []string{postgresFolder + "=" + folder}, "", nil
	case !errors.Is(err, errNoPostgres) || os.Getenv("CI") != "":
		return nil, "", fmt.Errorf("the tests of %s cannot run: %w", ofPostgres, err)
	}
	return nil, fmt.Sprintf("NOT RUN: the tests of %s that need a PostgreSQL server: %v\n", ofPostgres, err), nil
}
