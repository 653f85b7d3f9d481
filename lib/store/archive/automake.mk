lib_libeverflow_a_SOURCES += \
	lib/store/archive/archive.c lib/store/archive/archive.h lib/store/archive/archive_private.h \
	lib/store/archive/archive_query.c lib/store/archive/seal.c \
	lib/store/archive/byte_buffer.h \
	lib/store/archive/catalogue.c lib/store/archive/catalogue.h \
	lib/store/archive/chunk_reader.c lib/store/archive/chunk_reader.h \
	lib/store/archive/chunk_writer.c lib/store/archive/chunk_writer.h \
	lib/store/archive/column_data.c lib/store/archive/column_data.h \
	lib/store/archive/crc.c lib/store/archive/crc.h \
	lib/store/archive/decode.c lib/store/archive/encode.c lib/store/archive/encoding.h \
	lib/store/archive/dictionary.c lib/store/archive/dictionary.h \
	lib/store/archive/file_ops.c lib/store/archive/file_ops.h \
	lib/store/archive/parquet_join.c lib/store/archive/parquet_join.h \
	lib/store/archive/parquet_meta.c lib/store/archive/parquet_meta.h \
	lib/store/archive/parquet_meta_read.c \
	lib/store/archive/parquet_reader.c lib/store/archive/parquet_reader.h \
	lib/store/archive/parquet_writer.c lib/store/archive/parquet_writer.h \
	lib/store/archive/row_codec.c lib/store/archive/row_codec.h \
	lib/store/archive/row_counter.c lib/store/archive/row_counter.h \
	lib/store/archive/row_schema.c lib/store/archive/row_schema.h \
	lib/store/archive/row_set.c lib/store/archive/row_set.h \
	lib/store/archive/row_sorter.c lib/store/archive/row_sorter.h \
	lib/store/archive/spool.c lib/store/archive/spool.h \
	lib/store/archive/spool_format.h lib/store/archive/spool_reader.c \
	lib/store/archive/thrift.c lib/store/archive/thrift.h
EXTRA_DIST += lib/store/archive/README.md
