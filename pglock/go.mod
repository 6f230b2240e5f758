module github.com/holdfast-go/holdfast/pglock

go 1.26.0

require (
	github.com/holdfast-go/holdfast v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/stretchr/testify v1.12.1
)
